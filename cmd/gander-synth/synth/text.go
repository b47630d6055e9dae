package synth

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// corpus is raw text that everything is cut from: sentences and lines as tools
// print them. It compresses about as well as the real thing.
type corpus struct {
	prose, output []string
}

const (
	sentences   = 20_000 // of about 60 bytes
	outputLines = 30_000
)

func newCorpus(seed uint64) *corpus {
	r := rand.New(rand.NewPCG(seed, 0x636f72707573))
	vocabulary := make([]string, 4000)
	for i := range vocabulary {
		vocabulary[i] = word(r)
	}
	// Words are as uneven as in a language: few are frequent.
	pick := func() string {
		u := r.Float64()
		return vocabulary[int(u*u*u*float64(len(vocabulary)))]
	}
	c := &corpus{prose: make([]string, sentences), output: make([]string, outputLines)}
	var b strings.Builder
	for i := range c.prose {
		b.Reset()
		for n := range 4 + r.IntN(12) {
			if n > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(pick())
		}
		switch r.IntN(12) {
		case 0:
			b.WriteString(":\n- `" + pick() + "_" + pick() + "`\n")
		case 1:
			b.WriteString(" \"" + pick() + "\".\n\n")
		case 2:
			b.WriteString(" – naïve 雁 🦢. ")
		default:
			b.WriteString(". ")
		}
		c.prose[i] = b.String()
	}
	for i := range c.output {
		b.Reset()
		switch r.IntN(5) {
		case 0:
			b.WriteString("src/" + pick() + "/" + pick() + ".rs:" + strconv.Itoa(r.IntN(3000)) + ":    let " + pick() + " = " + pick() + "(\"" + pick() + "\")?;\n")
		case 1:
			b.WriteString("2026-03-" + two(1+r.IntN(28)) + "T" + two(r.IntN(24)) + ":" + two(r.IntN(60)) + ":" + two(r.IntN(60)) + "Z INFO " + pick() + ": " + pick() + " " + pick() + " id=" + hex(r, 16) + "\n")
		case 2:
			b.WriteString("\t" + pick() + "\t" + strconv.Itoa(r.IntN(1_000_000)) + "\t" + hex(r, 8) + "\t\\" + pick() + "\n")
		case 3:
			b.WriteString("-rw-r--r-- 1 " + pick() + " " + pick() + " " + strconv.Itoa(r.IntN(10_000_000)) + " Mar " + two(1+r.IntN(28)) + " " + pick() + ".txt\n")
		default:
			b.WriteString("{\"" + pick() + "\": \"" + pick() + " " + pick() + "\", \"" + pick() + "\": " + strconv.Itoa(r.IntN(100_000)) + "},\n")
		}
		c.output[i] = b.String()
	}
	return c
}

func word(r *rand.Rand) string {
	const consonants, vowels = "bcdfghklmnprstvz", "aeiou"
	var b strings.Builder
	for range 1 + r.IntN(3) {
		b.WriteByte(consonants[r.IntN(len(consonants))])
		b.WriteByte(vowels[r.IntN(len(vowels))])
	}
	if r.IntN(2) == 0 {
		b.WriteByte(consonants[r.IntN(len(consonants))])
	}
	return b.String()
}

// run is how many units follow each other as they stand in the corpus.
const run = 12

// cut returns about n bytes made of units, cut behind a whole character.
func cut(r *rand.Rand, units []string, n int) string {
	var b strings.Builder
	b.Grow(n + 4)
	for {
		at := r.IntN(len(units) - run)
		for _, u := range units[at : at+run] {
			left := n - b.Len()
			if left > len(u) {
				b.WriteString(u)
				continue
			}
			for left < len(u) && u[left]&0xc0 == 0x80 {
				left++
			}
			b.WriteString(u[:left])
			return b.String()
		}
	}
}

func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// hex returns n hexadecimal digits.
func hex(r *rand.Rand, n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	var bits uint64
	for i := range b {
		if i%16 == 0 {
			bits = r.Uint64()
		}
		b[i] = digits[bits&15]
		bits >>= 4
	}
	return string(b)
}

// uuid returns an id as version 4 has them.
func uuid(r *rand.Rand) string {
	h := hex(r, 32)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}
