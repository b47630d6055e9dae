package memo

import (
	"fmt"
	"testing"
)

// Questions to a table in memory and to one in a file, of keys that are there
// and of keys that are not.
func BenchmarkGet(b *testing.B) {
	for _, c := range []struct {
		name    string
		limit   int
		records uint64
	}{{"memory", 1 << 20, 1 << 19}, {"file", 1 << 18, 1 << 19}, {"large-file", 1 << 18, 5_000_000}} {
		table := New(c.limit, newScratch(b).open)
		for i := range c.records {
			table.Put(keyOf(i), valueOf(i))
		}
		for _, miss := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%s", c.name, map[bool]string{false: "hit", true: "miss"}[miss]), func(b *testing.B) {
				i, odd := uint64(0), uint64(0)
				if miss {
					odd = 1 << 40
				}
				for b.Loop() {
					i = (i + 999_983) % c.records // a prime: every key once
					if _, ok := table.Get(keyOf(i + odd)); ok == miss {
						b.Fatal(table.Err())
					}
				}
			})
		}
		b.Run(c.name+"/put", func(b *testing.B) {
			i := uint64(0)
			for b.Loop() {
				i = (i + 999_983) % c.records
				table.Put(keyOf(i), valueOf(i+1))
			}
		})
		table.Close()
	}
}

// A table is filled with as many records as b.N says.
func BenchmarkFill(b *testing.B) {
	for _, c := range []struct {
		name  string
		limit int
	}{{"memory", 1 << 30}, {"file", 3 << 18}} {
		b.Run(c.name, func(b *testing.B) {
			table := New(c.limit, newScratch(b).open)
			defer table.Close()
			before, i := heap(), uint64(0)
			for b.Loop() {
				table.Put(keyOf(i), valueOf(i))
				i++
			}
			b.ReportMetric(float64(heap()-before)/(1<<20), "heap-MiB")
		})
	}
}
