package transform

import (
	"gander/schemas/batch"
	"gander/schemas/values"
)

// issue is a row of issues.
type issue struct {
	code    string
	message string
	value   optText // the value concerned, in full
}

// issueWriter writes the issues of one source.
type issueWriter struct {
	out   *batch.Writer
	store string
	file  string
	n     int64
}

func (w *issueWriter) write(p *place, is issue) {
	w.n++
	o := w.out
	o.Text(w.store)
	o.Text(is.code)
	o.Text(is.message)
	if is.value.ok {
		o.Text(values.RawPrefix(is.value.s))
		o.Int(int64(len(is.value.s)))
		o.Text(values.SHA256Hex([]byte(is.value.s)))
	} else {
		o.Null()
		o.Null()
		o.Null()
	}
	o.Text(w.file)
	o.OptText(p.table.s, p.table.ok)
	o.OptInt(p.line.V, p.line.OK)
	o.End()
}
