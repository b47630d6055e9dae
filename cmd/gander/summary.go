package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"

	"gander/extract"
	"gander/load/render"
)

// writeSummary prints what a run did, for people.
func writeSummary(w io.Writer, s *runSummary, color bool) error {
	show := func(text string) string { return text }
	if terminal(w) {
		show = render.Escape
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "store\tread\tabsent\tother\trecords\tevents\tduplicates\tissues\tsize\t\n")
	for _, st := range s.Stores {
		var other int64
		for status, n := range st.Statuses {
			if status != extract.Read && status != extract.Absent {
				other += n
			}
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", st.Store, grouped(st.Statuses[extract.Read]), grouped(st.Statuses[extract.Absent]), grouped(other),
			grouped(st.Records), grouped(st.Events), grouped(st.Duplicates), grouped(st.Issues), size(st.Bytes))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	head := fmt.Sprintf("%s in %s", plural(s.Homes, "home"), seconds(s.FinishedAt.Sub(s.StartedAt)))
	if s.Superseded > 0 {
		head += fmt.Sprintf(", %s superseded", grouped(s.Superseded))
	}
	if s.Bad > 0 {
		head += fmt.Sprintf(", %s", plural(s.Bad, "bad record"))
	}
	fmt.Fprintf(w, "\n%s: %s\n", head, show(s.Warehouse))
	if s.Complete() {
		return nil
	}
	bold, plain := "", ""
	if color {
		bold, plain = "\x1b[1;33m", "\x1b[0m"
	}
	fmt.Fprintf(w, "\n%snot read whole:%s\n", bold, plain)
	counts := map[string]int{}
	for i, p := range s.Problems {
		if counts[p.Status]++; i >= problemsShown {
			continue
		}
		line := []string{p.Status, p.HomeID, p.Path, p.Note}
		kept := line[:0]
		for _, part := range line {
			if part != "" {
				kept = append(kept, show(part))
			}
		}
		fmt.Fprintf(w, "  %s\n", strings.Join(kept, "  "))
	}
	if len(s.Problems) > problemsShown {
		var parts []string
		for status, n := range counts {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
		sort.Strings(parts)
		fmt.Fprintf(w, "  ... %d in all: %s; all of them: gander sql \"FROM sources WHERE status <> 'read'\"\n", len(s.Problems), strings.Join(parts, ", "))
	}
	for _, f := range s.Failures {
		if _, err := fmt.Fprintf(w, "  failed  %s  %s  %s\n", show(f.HomeID), show(f.Error), show(f.Hint)); err != nil {
			return err
		}
	}
	return nil
}

// problemsShown bounds the list of a summary for people; --json has all.
const problemsShown = 20
