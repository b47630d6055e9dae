package values

// Int is an integer that may be absent.
type Int struct {
	V  int64
	OK bool
}

// AtLeast0 returns i with values below 0 raised to 0; absent stays absent.
func (i Int) AtLeast0() Int { return Int{max(i.V, 0), i.OK} }

// Tokens are the five counts of a provider call as Goose stores them: input
// includes what came from and went to the cache.
type Tokens struct {
	Input, Output, CacheRead, CacheWrite, Total Int
}

// Normalized returns the counts as the columns without stored_ have them:
// input without cache, nothing below 0, and a total wherever input or output
// is known.
func (t Tokens) Normalized() Tokens {
	n := Tokens{
		Input:      t.Input,
		Output:     t.Output.AtLeast0(),
		CacheRead:  t.CacheRead.AtLeast0(),
		CacheWrite: t.CacheWrite.AtLeast0(),
		Total:      t.Total,
	}
	if n.Input.OK {
		// Each step is kept within int64: stored counts may be anything.
		v := max(t.Input.V, 0)
		v = max(v-n.CacheRead.V, 0)
		n.Input.V = max(v-n.CacheWrite.V, 0)
	}
	if !t.Total.OK || t.Total.V <= 0 {
		n.Total = Int{OK: t.Input.OK || t.Output.OK}
		n.Total.V = addSaturated(max(t.Input.V, 0), max(t.Output.V, 0))
	}
	return n
}

func addSaturated(a, b int64) int64 {
	if s := a + b; s >= 0 {
		return s
	}
	return 1<<63 - 1
}
