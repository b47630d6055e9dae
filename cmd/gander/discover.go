package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"gander/extract"
	"gander/load/render"
)

// foundHome is a home as `discover` prints it.
type foundHome struct {
	HomeID       string       `json:"home_id"`
	Host         string       `json:"host"`
	User         string       `json:"user"`
	HomePath     string       `json:"home_path"`
	Layout       string       `json:"layout"`
	Input        string       `json:"input"`
	InputKind    string       `json:"input_kind"`
	SupersededBy string       `json:"superseded_by,omitempty"`
	Stores       []foundStore `json:"stores"`
}

// foundStore sums up the files of a store.
type foundStore struct {
	Store         string         `json:"store"`
	Files         int            `json:"files"`
	Bytes         int64          `json:"bytes"` // with write-ahead logs and journals
	SchemaVersion string         `json:"schema_version,omitempty"`
	Statuses      map[string]int `json:"statuses"`
}

func (a *app) discoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discover INPUT...",
		Short: "List the homes in inputs, their stores and sizes",
		Long: `List the homes that run would read. Nothing is written, copied or unpacked. The
schema version of a database is shown where it can be read in place; "in WAL"
says that it stands in a write-ahead log.`,
		Example: `  gander discover /evidence
  gander discover --live
  gander discover /evidence --json | jq -r '.[] | [.host, .user] | @tsv'`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.discover(cmd.Context(), args) },
	}
	cmd.Flags().Bool("live", false, "list this machine's own home")
	cmd.Flags().String("host", "", "host to show instead of what the input says")
	cmd.Flags().String("user", "", "user to show instead of what the input says")
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

func (a *app) discover(ctx context.Context, inputs []string) error {
	opened, err := extract.List(ctx, inputs, extract.Options{Host: a.config.Host, User: a.config.User, Live: a.config.Live})
	if err != nil {
		return err
	}
	defer opened.Close()
	homes := make([]foundHome, len(opened.Homes)+len(opened.Superseded))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range opened.Homes {
		group.Go(func() error {
			homes[i] = foundIn(ctx, &opened.Homes[i], "")
			return ctx.Err()
		})
	}
	for i := range opened.Superseded {
		homes[len(opened.Homes)+i] = foundIn(ctx, &opened.Superseded[i].Home, opened.Superseded[i].By)
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, is := range opened.InputIssues {
		a.log.Warn(is.Message, "code", is.Code, "path", is.Path)
	}
	if a.config.JSON {
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return ignoreClosedPipe(enc.Encode(homes))
	}
	return ignoreClosedPipe(writeHomes(a.out, homes))
}

func foundIn(ctx context.Context, h *extract.Home, by string) foundHome {
	layouts := make([]string, len(h.Layouts))
	for i, l := range h.Layouts {
		layouts[i] = string(l)
	}
	found := foundHome{h.ID, h.Host, h.User, h.Path, strings.Join(layouts, "+"), h.Input, string(h.Kind), by, []foundStore{}}
	for _, store := range extract.Stores() {
		s := foundStore{Store: string(store), Statuses: map[string]int{}}
		for i := range h.Files {
			f := &h.Files[i]
			if f.Store != store {
				continue
			}
			s.Files++
			s.Bytes += f.Bytes()
			s.Statuses[string(f.Status)]++
			if version, walled := extract.SchemaVersion(ctx, f); walled {
				s.SchemaVersion = "in WAL"
			} else if version.OK {
				s.SchemaVersion = strconv.FormatInt(version.V, 10)
			}
		}
		if s.Files > 0 {
			found.Stores = append(found.Stores, s)
		}
	}
	return found
}

func writeHomes(w io.Writer, homes []foundHome) error {
	show := func(text string) string { return text }
	if terminal(w) {
		show = render.Escape
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "host\tuser\thome\tlayout\tstore\tfiles\tsize\tschema\tnot read")
	for _, h := range homes {
		lead := strings.Join([]string{show(h.Host), show(h.User), show(h.HomePath), h.Layout}, "\t")
		if h.SupersededBy != "" {
			fmt.Fprintf(tw, "%s\tsuperseded by %s\t\t\t\t\n", lead, show(h.SupersededBy))
			continue
		}
		if len(h.Stores) == 0 {
			fmt.Fprintf(tw, "%s\t-\t0\t0 B\t\t\n", lead)
		}
		for _, s := range h.Stores {
			var other []string
			for _, status := range []extract.Status{extract.Empty, extract.Missing, extract.SkippedSize, extract.SkippedSecret, extract.Unreadable, extract.NotRead} {
				if n := s.Statuses[string(status)]; n > 0 {
					other = append(other, fmt.Sprintf("%d %s", n, status))
				}
			}
			fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%s\n", lead, s.Store, s.Files, size(s.Bytes), s.SchemaVersion, strings.Join(other, ", "))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", plural(int64(len(homes)), "home"))
	return err
}
