package synth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Options say what a fleet is like. Shares are between 0 and 1.
type Options struct {
	Seed     uint64
	Homes    int
	MB       float64 // of a home's database with its write-ahead log, in 10^6 bytes
	Sessions int     // at most that many a home, sub agents apart; 0: as many as MB takes
	Mix      Mix

	Tools       float64 // share of turns that call tools
	Images      float64 // share of prompts with an image
	Forks       float64 // share of sessions that begin as a copy of the one before
	Compactions float64 // share of sessions that were compacted
	SubAgents   float64 // share of sessions that delegate to another
	WAL         float64 // share of homes that Goose left with a write-ahead log

	LargestMB float64 // of one tool result that each home has beside MB; 0: none

	Legacy  int // session files a home; the database has imported every other one
	Logs    int // request logs a home, at most 10
	History int // entries of the history a home
}

// Defaults is one home as an average user has it, of 10 MB.
func Defaults() Options {
	mix, _ := ParseMix("real")
	return Options{
		Seed: 1, Homes: 1, MB: 10, Mix: mix,
		Tools: 0.6, Images: 0.004, Forks: 0.03, Compactions: 0.05, SubAgents: 0.05,
	}
}

// Mix is how long the parts of messages are, in bytes.
type Mix struct {
	Prompt, Answer, Thinking, Arguments, Result, Image Length
}

// Length is a log-normal distribution, cut at both ends.
type Length struct {
	Median, Sigma float64
	Max           int
}

func (l Length) draw(r *rand.Rand) int {
	return min(l.Max, max(1, int(l.Median*math.Exp(l.Sigma*r.NormFloat64()))))
}

var mixes = map[string]Mix{
	// A message takes 2.3 kB of the database on average, its largest megabytes.
	"real": {
		Prompt: Length{90, 1.1, 40e3}, Answer: Length{350, 1, 60e3}, Thinking: Length{250, 0.9, 30e3},
		Arguments: Length{70, 1.1, 200e3}, Result: Length{380, 1.9, 8e6}, Image: Length{90e3, 0.8, 2e6},
	},
	// Rows count, not bytes.
	"small": {
		Prompt: Length{40, 0.5, 400}, Answer: Length{80, 0.5, 800}, Thinking: Length{60, 0.5, 600},
		Arguments: Length{30, 0.5, 300}, Result: Length{80, 0.7, 2000}, Image: Length{1e3, 0.5, 10e3},
	},
	// Bytes count, not rows.
	"large": {
		Prompt: Length{200, 1.2, 100e3}, Answer: Length{700, 1, 100e3}, Thinking: Length{500, 1, 50e3},
		Arguments: Length{300, 1.5, 500e3}, Result: Length{20e3, 1.8, 32e6}, Image: Length{300e3, 0.8, 8e6},
	},
}

// ParseMix returns the mix of that name: real, small or large.
func ParseMix(name string) (Mix, error) {
	m, ok := mixes[name]
	if !ok {
		var names []string
		for n := range mixes {
			names = append(names, n)
		}
		slices.Sort(names)
		return Mix{}, fmt.Errorf("no mix %q: there are %s", name, strings.Join(names, ", "))
	}
	return m, nil
}

// Check tells what no fleet can be like.
func (o *Options) Check() error {
	if o.Homes < 1 || o.Homes > 99_999 {
		return fmt.Errorf("%d homes: a fleet has 1 to 99999", o.Homes)
	}
	if !(o.MB >= 0.1 && o.MB <= 1e6) {
		return fmt.Errorf("%g MB a home: 0.1 to 1000000 can be written", o.MB)
	}
	if !(o.LargestMB >= 0 && o.LargestMB <= 900) {
		return fmt.Errorf("a result of %g MB: SQLite stores none of more than 900", o.LargestMB)
	}
	for _, s := range []struct {
		name  string
		share float64
	}{
		{"tools", o.Tools}, {"images", o.Images}, {"forks", o.Forks}, {"compactions", o.Compactions}, {"subagents", o.SubAgents}, {"wal", o.WAL},
	} {
		if !(s.share >= 0 && s.share <= 1) {
			return fmt.Errorf("share of %s is %g: it lies between 0 and 1", s.name, s.share)
		}
	}
	if o.Sessions < 0 || o.Legacy < 0 || o.Legacy > 1000 || o.History < 0 || o.Logs < 0 || o.Logs > maxLogs {
		return fmt.Errorf("sessions and history count from 0, legacy to 1000, logs to %d", maxLogs)
	}
	return nil
}

// Counts is what was written.
type Counts struct {
	Homes         int64 `json:"homes"`
	WALs          int64 `json:"wals"`
	DatabaseBytes int64 `json:"database_bytes"` // with write-ahead logs

	// Rows of the databases.
	Sessions int64 `json:"sessions"`
	Messages int64 `json:"messages"`
	Usage    int64 `json:"usage"`

	// In the databases' messages.
	Blocks        int64 `json:"blocks"`
	ToolRequests  int64 `json:"tool_requests"`
	ToolResponses int64 `json:"tool_responses"`
	Images        int64 `json:"images"`
	Copied        int64 `json:"copied_messages"` // by forks
	SubAgents     int64 `json:"sub_agents"`

	LegacyFiles int64 `json:"legacy_files"`
	LegacyLines int64 `json:"legacy_lines"`
	Imported    int64 `json:"legacy_imported"` // files that the database has too
	Logs        int64 `json:"logs"`
	History     int64 `json:"history_entries"`
}

func (c *Counts) add(o Counts) {
	c.Homes += o.Homes
	c.WALs += o.WALs
	c.DatabaseBytes += o.DatabaseBytes
	c.Sessions += o.Sessions
	c.Messages += o.Messages
	c.Usage += o.Usage
	c.Blocks += o.Blocks
	c.ToolRequests += o.ToolRequests
	c.ToolResponses += o.ToolResponses
	c.Images += o.Images
	c.Copied += o.Copied
	c.SubAgents += o.SubAgents
	c.LegacyFiles += o.LegacyFiles
	c.LegacyLines += o.LegacyLines
	c.Imported += o.Imported
	c.Logs += o.Logs
	c.History += o.History
}
