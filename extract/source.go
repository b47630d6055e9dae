package extract

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gander/schemas/batch"
	"gander/schemas/values"
)

// Source streams one file of a store. A caller ranges over Records once, to
// its end or not, and then asks for the Report.
type Source interface {
	// Records yields the file's records as batches of tables of package
	// schemas: Raw ones, and finished ones such as db_tables. The consumer
	// releases each batch. What is wrong with a record or the file comes as
	// rows of schemas.RawIssues; an error ends the stream and means that the
	// run cannot go on as it is: scratch cannot be written, or ctx is done.
	Records(ctx context.Context) iter.Seq2[arrow.RecordBatch, error]
	// Report tells how the reading went. It is valid after Records.
	Report() Report
}

// Report is what a Source found out about its file as a whole.
type Report struct {
	Status        Status
	Note          string
	Size          int64  // bytes read as the main file; -1 when unknown
	SHA256        string // of the main file; "" when it was not read whole or changed meanwhile
	SchemaVersion values.Int
	Integrity     string // quick_check's answer; "" when it could not be asked
	Records       int64  // records yielded; -1 for a document, of which the reader counts the items
}

// stream yields what read writes to out. A file that is not to be read yields
// nothing; errStopped is no error.
func stream(file *File, mem memory.Allocator, read func(out *batch.Set) error) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if file.Local == "" || file.Status != Read {
			return
		}
		out := batch.NewSet(mem, func(b arrow.RecordBatch) bool { return yield(b, nil) })
		defer out.Release()
		err := read(out)
		if err == nil {
			out.Flush()
		}
		if err != nil && !errors.Is(err, errStopped) && !out.Stopped() {
			yield(nil, err)
		}
	}
}
