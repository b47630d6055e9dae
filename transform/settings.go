package transform

import (
	"errors"
	"iter"
	"slices"
	"strconv"

	"gander/schemas"
	"gander/schemas/jsonval"
	"gander/schemas/values"
)

// jsonFile parses the whole of a JSON file whose root is of one of the kinds.
// ok is false when it is not, which is then reported.
func (t *textFile) jsonFile(text string, kinds ...jsonval.Kind) (root jsonval.Value, ok bool) {
	switch err := t.doc.Parse(text); {
	case errors.Is(err, jsonval.ErrDepth):
		t.badFile("the file's JSON is nested deeper than 1,000", text)
		return root, false
	case err != nil:
		t.badFile("the file is not JSON", text)
		return root, false
	}
	t.loneSurrogate(&place{})
	root = t.doc.Root()
	if !slices.Contains(kinds, root.Kind()) {
		want := "a list"
		if kinds[0] == jsonval.Object {
			want = "an object"
		}
		t.badFile("the file's JSON is not "+want, text)
		return root, false
	}
	return root, true
}

// members yields an object's members as its readers take them: of several
// values under one key the last. The others become issues.
func (t *textFile) members(object jsonval.Value) iter.Seq2[string, jsonval.Value] {
	return func(yield func(string, jsonval.Value) bool) {
		last := map[string]jsonval.Value{}
		for k, v := range object.Members() {
			last[k] = v
		}
		for k, v := range object.Members() {
			if last[k] != v {
				t.issues.write(&place{}, issue{"duplicate_key", "the file has the key again below; the value there is read", some(member(k, v))})
			} else if !yield(k, v) {
				return
			}
		}
	}
}

// member is an object of that member alone, as canonical JSON.
func member(key string, v jsonval.Value) string {
	var b jsonval.ObjectBuilder
	b.Value(key, v)
	return string(b.JSON())
}

// item is the place of a record of a JSON file, counted from 1.
func item(n int64) *place {
	return &place{line: values.Int{V: n, OK: true}, byText: true}
}

// badItem writes issue and event of a record that should be an object.
func (t *textFile) badItem(p *place, v jsonval.Value) {
	text := "parser: unparseable record " + strconv.FormatInt(p.line.V, 10) + " (not a JSON object)"
	t.tally.Bad++
	t.issues.write(p, issue{"bad_item", text, some(v.JSON())})
	t.emit(p, system("parser_issue", text+": "+v.JSON(), values.Int{}))
}

// unknownKey notes a member that no column of the store's table can hold.
func (t *textFile) unknownKey(p *place, key string, v jsonval.Value) {
	t.issues.write(p, issue{"unknown_key", "a key that no column is for", some(member(key, v))})
}

// fields reads the members of one record. What does not fit its column is NULL
// there, an issue, and a member of extra.
type fields struct {
	*textFile
	at     *place
	object jsonval.Value
	extra  *jsonval.ObjectBuilder
}

// others puts the members that are not named into extra, in stored order.
func (f *fields) others(named ...string) {
	for k, v := range f.object.Members() {
		if !slices.Contains(named, k) {
			f.extra.Value(k, v)
		}
	}
}

// text reads a text; another value is its JSON.
func (f *fields) text(key string) optText {
	v := f.object.Get(key)
	if !v.Present() {
		return optText{}
	}
	return some(v.TextOrJSON())
}

// time reads a time in microseconds.
func (f *fields) time(key string) values.Int {
	v := f.object.Get(key)
	if !v.Present() {
		return values.Int{}
	}
	us, ok := v.Time()
	if !ok {
		f.issues.write(f.at, issue{"bad_time", key + " is no time from 2000 to 2100", some(v.TextOrJSON())})
		f.extra.Value(key, v)
	}
	return values.Int{V: us, OK: ok}
}

// flag reads true or false.
func (f *fields) flag(key string) tristate {
	v := f.object.Get(key)
	is, ok := v.Bool()
	if v.Present() && !ok {
		f.issues.write(f.at, issue{"bad_value", key + " is neither true nor false", some(v.TextOrJSON())})
		f.extra.Value(key, v)
	}
	return tristate{is, ok}
}

// orDash is the text, "-" where there is none or it is empty.
func (o optText) orDash() string {
	if o.s == "" {
		return "-"
	}
	return o.s
}

// permission is a row of permissions.
type permission struct {
	category       string
	level, subject optText
	changedAt      values.Int
	extra          []byte // nil: none
}

func (t *textFile) permission(p *place, row *permission) {
	o := t.set.Table(schemas.Permissions)
	o.Text(t.info.Store)
	o.Text(row.category)
	o.OptText(row.level.s, row.level.ok)
	o.OptText(row.subject.s, row.subject.ok)
	o.Micros(row.changedAt.V, row.changedAt.OK)
	if row.extra != nil {
		o.Bytes(row.extra)
	} else {
		o.Null()
	}
	t.events.origin(o, p)
	o.End()
}

// setting writes a standing permission that has no time of its own: its event
// and its row, at the file's.
func (t *textFile) setting(p *place, category, level, subject string) {
	t.tally.WithRows++
	text := "permission setting: " + category + "." + level + "=" + subject + " (from " + t.info.Rel + ", file mtime)"
	t.emit(p, system("permission_setting", text, t.info.MTime))
	t.permission(p, &permission{category: category, level: some(level), subject: some(subject), changedAt: t.info.MTime})
}
