package parquet

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

var arrowProps = pqarrow.DefaultWriterProps()

// group is a row group whose columns are encoded and compressed as rows come
// and kept as pages in memory: only Close writes to the file, a column after
// the other.
type group struct {
	file.BufferedRowGroupWriter
	ctx context.Context // of the encoder, holds its scratch buffer
	def []int16
	rep []int16
}

func newGroup(fw *file.Writer) (*group, error) {
	rows, err := fw.AppendBufferedRowGroupChecked()
	if err != nil {
		return nil, err
	}
	return &group{BufferedRowGroupWriter: rows, ctx: pqarrow.NewArrowWriteContext(context.Background(), &arrowProps)}, nil
}

func (g *group) write(rec arrow.RecordBatch) error {
	for i, col := range rec.Columns() {
		to, err := g.Column(i) // every column is one leaf
		if err == nil {
			err = g.writeColumn(to, col)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", rec.ColumnName(i), err)
		}
	}
	return nil
}

func (g *group) writeColumn(to file.ColumnChunkWriter, col arrow.Array) error {
	if list, ok := col.(*array.List); ok {
		return g.writeList(to, list)
	}
	g.def = g.def[:0]
	for i := range col.Len() {
		level := int16(0)
		if col.IsValid(i) {
			level = 1
		}
		g.def = append(g.def, level)
	}
	return pqarrow.WriteArrowToColumn(g.ctx, to, col, g.def, nil, true)
}

// Definition levels of a list of three levels: what is there.
const (
	noList int16 = iota
	emptyList
	noElement
	element
)

func (g *group) writeList(to file.ColumnChunkWriter, lists *array.List) error {
	g.def, g.rep = g.def[:0], g.rep[:0]
	elements := lists.ListValues()
	first, _ := lists.ValueOffsets(0)
	_, last := lists.ValueOffsets(lists.Len() - 1)
	for i := range lists.Len() {
		start, end := lists.ValueOffsets(i)
		switch {
		case lists.IsNull(i) && start < end:
			return errors.New("a list that is NULL has elements")
		case lists.IsNull(i):
			g.def, g.rep = append(g.def, noList), append(g.rep, 0)
		case start == end:
			g.def, g.rep = append(g.def, emptyList), append(g.rep, 0)
		}
		for at := start; at < end; at++ {
			level, again := noElement, int16(1)
			if elements.IsValid(int(at)) {
				level = element
			}
			if at == start {
				again = 0
			}
			g.def, g.rep = append(g.def, level), append(g.rep, again)
		}
	}
	values := array.NewSlice(elements, first, last)
	defer values.Release()
	return pqarrow.WriteArrowToColumn(g.ctx, to, values, g.def, g.rep, true)
}
