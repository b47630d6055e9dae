package transform

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"gander/schemas"
	"gander/schemas/jsonval"
)

// Schedules transforms schedule.json: the jobs that run without anybody asking.
type Schedules struct {
	textFile
	extra jsonval.ObjectBuilder
}

// NewSchedules returns the transform of one file.
func NewSchedules(info FileInfo) *Schedules {
	return &Schedules{textFile: textFile{info: info}}
}

// Tables implements TextStore.
func (t *Schedules) Tables(_ context.Context, in iter.Seq2[arrow.RecordBatch, error]) iter.Seq2[arrow.RecordBatch, error] {
	return t.tables(in, t.document, nil)
}

func (t *Schedules) document(p piece) error {
	root, ok := t.jsonFile(p.text, jsonval.Array)
	if !ok {
		return nil
	}
	n := int64(0)
	for v := range root.Items() {
		n++
		if at := item(n); v.Is(jsonval.Object) {
			t.job(at, v)
		} else {
			t.badItem(at, v)
		}
	}
	return nil
}

func (t *Schedules) job(at *place, job jsonval.Value) {
	t.tally.WithRows++
	t.extra.Reset()
	f := fields{&t.textFile, at, job, &t.extra}
	f.others("id", "source", "cron", "last_run", "currently_running", "paused", "current_session_id", "process_start_time", "parameters", "recipe_base_dir")
	id, source, cron := f.text("id"), f.text("source"), f.text("cron")
	lastRun, started := f.time("last_run"), f.time("process_start_time")
	running, paused := f.flag("currently_running"), f.flag("paused")
	session, dir := f.text("current_session_id"), f.text("recipe_base_dir")
	parameters := job.Get("parameters")

	var b strings.Builder
	b.WriteString("scheduled task: " + id.orDash() + " " + cron.orDash())
	b.WriteString(" paused=" + strconv.FormatBool(paused.v) + " running=" + strconv.FormatBool(running.v))
	b.WriteString(" source=" + source.orDash() + " last_run=" + f.text("last_run").orDash())
	b.WriteString(" current_session=" + session.orDash() + " recipe_base_dir=" + dir.orDash())
	if !empty(parameters) {
		b.WriteString(" parameters=" + parameters.JSON())
	}
	b.WriteString(" (from " + t.info.Rel + ", file mtime)")
	t.emit(at, system("scheduled_task", b.String(), t.info.MTime))

	o := t.set.Table(schemas.Schedules)
	for _, text := range []optText{id, source, cron} {
		o.OptText(text.s, text.ok)
	}
	o.Micros(lastRun.V, lastRun.OK)
	o.OptBool(running.v, running.ok)
	o.OptBool(paused.v, paused.ok)
	o.OptText(session.s, session.ok)
	o.Micros(started.V, started.OK)
	o.OptText(parameters.JSON(), parameters.Present() && !emptyText(parameters))
	o.OptText(dir.s, dir.ok)
	o.Micros(t.info.MTime.V, t.info.MTime.OK)
	writeExtra(o, &t.extra)
	t.events.origin(o, at)
	o.End()
}

// empty reports a value that stands for none: absent, null, or with nothing in it.
func empty(v jsonval.Value) bool {
	switch v.Kind() {
	case jsonval.Array, jsonval.Object:
		return v.Len() == 0
	default:
		return !v.Present() || emptyText(v)
	}
}

func emptyText(v jsonval.Value) bool { return v.Is(jsonval.String) && v.Text() == "" }
