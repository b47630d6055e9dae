package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"gander/schemas"
	"gander/schemas/fault"
)

const (
	pageBytes = 1 << 20
	// valuesPerCheck is how many values may pass before the page size is looked
	// at; batches are also sliced at pageBytes.
	valuesPerCheck = 256
	// maxStat is the longest minimum or maximum kept, in bytes.
	maxStat = 256
	// MetaColumns is the file metadata key of the JSON array that documents the columns.
	MetaColumns = "gander.columns"
)

// texts is how the values of a text column are expected to look.
type texts uint8

const (
	repeated texts = iota // few distinct values: dictionary and statistics
	unique                // short, hardly ever twice: statistics
	long                  // of any length, hardly ever twice: neither
)

// textsOf decides from the name, so that a column means the same in every
// table. A wrong guess costs space, never correctness: a dictionary that
// outgrows a page is given up by the encoder.
func textsOf(c schemas.Column) texts {
	if c.Kind == schemas.JSON {
		return long
	}
	switch c.Name {
	case "text", "raw", "message", "description", "error", "note":
		return long
	case "message_id", "tool_use_id", "event_id", "kept_event_id", "request_event_id", "response_event_id", "dedup_key":
		return unique
	}
	if strings.HasSuffix(c.Name, "sha256") {
		return unique
	}
	return repeated
}

func properties(t *schemas.Table, dictionaries bool, mem memory.Allocator) *pq.WriterProperties {
	opts := []pq.WriterProperty{
		pq.WithAllocator(mem),
		pq.WithCompression(compress.Codecs.Zstd),
		pq.WithCompressionLevel(1),
		// Version 2 pages would state 0 NULLs for columns without statistics.
		pq.WithDataPageVersion(pq.DataPageV1),
		pq.WithDataPageSize(pageBytes),
		pq.WithDictionaryPageSizeLimit(pageBytes),
		pq.WithBatchSize(valuesPerCheck),
		pq.WithMaxRowGroupLength(GroupRows),
		pq.WithMaxStatsSize(maxStat),
		// Numbers and times seldom repeat enough for a dictionary.
		pq.WithDictionaryDefault(false),
	}
	for _, c := range t.Columns {
		if c.Kind != schemas.Text && c.Kind != schemas.JSON {
			continue
		}
		class := textsOf(c)
		opts = append(opts, pq.WithDictionaryFor(c.Name, dictionaries && class == repeated), pq.WithStatsFor(c.Name, class != long))
	}
	return pq.NewWriterProperties(opts...)
}

// newFile starts a Parquet file of t on sink, with its documentation.
func newFile(t *schemas.Table, sink io.Writer, dictionaries bool, mem memory.Allocator) (*file.Writer, error) {
	type column struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Comment string `json:"comment"`
	}
	doc := make([]column, len(t.Columns))
	for i, c := range t.Columns {
		doc[i] = column{c.Name, c.Kind.SQL(), c.Doc}
	}
	var columns bytes.Buffer
	enc := json.NewEncoder(&columns)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	props := properties(t, dictionaries, mem)
	schema, err := pqarrow.ToParquet(t.Arrow(), props, arrowProps)
	if err != nil {
		return nil, err
	}
	table := t.Arrow().Metadata()
	meta := metadata.NewKeyValueMetadata()
	for i, key := range table.Keys() {
		if err := meta.Append(key, table.Values()[i]); err != nil {
			return nil, err
		}
	}
	for _, kv := range [][2]string{
		{"ARROW:schema", base64.StdEncoding.EncodeToString(flight.SerializeSchema(t.Arrow(), mem))},
		{MetaColumns, strings.TrimSpace(columns.String())},
	} {
		if err := meta.Append(kv[0], kv[1]); err != nil {
			return nil, err
		}
	}
	return file.NewParquetWriterWithError(sink, schema.Root(), file.WithWriterProps(props), file.WithWriteMetadata(meta))
}

// EmptyFile is the name of the file that WriteEmpty writes.
const EmptyFile = "empty.parquet"

// WriteEmpty makes dir hold an empty file of the table, from which readers
// learn the columns when no home has rows. A file that is already right is left
// alone; another is replaced at once, so that readers see either.
func WriteEmpty(dir string, t *schemas.Table) error {
	var want bytes.Buffer
	fw, err := newFile(t, &want, false, memory.DefaultAllocator)
	if err == nil {
		err = fw.Close()
	}
	if err != nil {
		return &fault.Error{Kind: fault.Internal, Op: "encode empty table " + t.Name, Err: err}
	}

	path := filepath.Join(dir, EmptyFile)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, want.Bytes()) {
		return nil
	}
	if err := mkdir(dir); err != nil {
		return outputError("create directory", dir, err)
	}
	tmp := path + ".tmp" // no reader's *.parquet
	f, err := create(tmp)
	if err != nil {
		return outputError("create file", tmp, err)
	}
	_, err = f.Write(want.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return outputError("write file", path, err)
	}
	return nil
}

// mkdir makes dir and what is missing above it, each 0700 whatever the umask.
func mkdir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case err == nil:
		return os.Chmod(dir, 0o700)
	case errors.Is(err, os.ErrNotExist) && filepath.Dir(dir) != dir:
		if err := mkdir(filepath.Dir(dir)); err != nil {
			return err
		}
		return mkdir(dir)
	case errors.Is(err, os.ErrExist):
		if info, serr := os.Stat(dir); serr == nil && info.IsDir() {
			return nil
		}
	}
	return err
}

// create makes or truncates a file, 0600 whatever the umask.
func create(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func outputError(op, path string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) && pe.Path == path {
		err = pe.Err // the path once
	}
	return &fault.Error{
		Kind: fault.Output, Op: op, Path: path, Err: err,
		Hint: fmt.Sprintf("Check that there is free space and that %s may be written, then run again: homes already committed are kept.", filepath.Dir(path)),
	}
}
