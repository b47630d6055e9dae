package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"gander/configs"
	"gander/extract"
	"gander/load/duckdb"
	"gander/load/pipeline"
	"gander/load/warehouse"
	"gander/schemas/fault"
)

func (a *app) runCommand() *cobra.Command {
	d := configs.Defaults()
	cmd := &cobra.Command{
		Use:   "run INPUT... -o WAREHOUSE",
		Short: "Read homes into a warehouse",
		Long: `Read every Goose home in the inputs and write it to the warehouse: Parquet files
and gander.duckdb.

An INPUT is a collection of the coding-agent collector (.tar.gz, .tar, .tar.zst,
.zip or a directory), another archive or directory with homes in it, or a
directory of many of these. It is recognised by its content and never changed.
A home that the warehouse has already is replaced; the others stay.`,
		Example: `  gander run /evidence/collections -o warehouse
  gander run host-01.tar.gz host-02.tar.gz -o warehouse
  gander run --live -o ~/goose-warehouse
  gander run /evidence -o warehouse --json | jq .problems`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args) },
	}
	cmd.Flags().StringP("output", "o", "", "directory of the warehouse; same as --warehouse")
	cmd.Flags().Bool("live", false, "read this machine's own home, while Goose may be running")
	cmd.Flags().String("host", "", "host to record instead of what the input says")
	cmd.Flags().String("user", "", "user to record instead of what the input says")
	cmd.Flags().Bool("strict", false, "exit 1 for bad records too")
	cmd.Flags().Bool("json", false, "print the summary as JSON")
	cmd.Flags().Bool("skip-deleted", false, "do not look for rows that databases no longer hold")
	cmd.Flags().Int("workers", d.Workers, "homes to read at a time; 0: one per processor")
	cmd.Flags().String("memory-limit", d.MemoryLimit, "memory DuckDB may take, such as 2GB; none: 200MB, and more only for a value that needs it")
	cmd.Flags().String("max-scratch", d.MaxScratch, "bytes that archives may unpack to, such as 64GB")
	return cmd
}

// memoryTarget is the size in bytes that the Go heap is kept near: a value that
// needs more gets it, garbage is not left to grow beyond. GOMEMLIMIT overrides it.
// It is well above what reading holds: some 160 MiB, and 32 bytes a message.
const memoryTarget = 352 << 20

// runSummary is what `run --json` prints.
type runSummary struct {
	RunID      string    `json:"run_id"`
	Warehouse  string    `json:"warehouse"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
	ExitCode   int       `json:"exit_code"`
	pipeline.Summary
}

// runRecord is a row of the table runs.
type runRecord struct {
	RunID           string   `json:"run_id"`
	StartedAt       string   `json:"started_at"`
	FinishedAt      string   `json:"finished_at"`
	GanderVersion   string   `json:"gander_version"`
	Inputs          []string `json:"inputs"`
	ExitCode        int      `json:"exit_code"`
	Homes           int64    `json:"homes"`
	HomesSuperseded int64    `json:"homes_superseded"`
	HomesFailed     int64    `json:"homes_failed"`
	Records         int64    `json:"records"`
	Events          int64    `json:"events"`
	Issues          int64    `json:"issues"`
	InputBytes      int64    `json:"input_bytes"`
}

func (a *app) run(cmd *cobra.Command, inputs []string) (err error) {
	ctx := cmd.Context()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryTarget)
	}
	if a.config.Output != "" {
		a.config.Warehouse = a.config.Output
	} else if cmd.Flags().Changed("output") {
		return &fault.Error{Kind: fault.Usage, Op: "run", Err: errors.New("-o is empty"), Hint: "Name the directory of the warehouse."}
	}
	if len(inputs) == 0 && !a.config.Live {
		return &fault.Error{Kind: fault.Usage, Op: "run", Err: errors.New("no input"), Hint: "Name what to read: gander run INPUT... -o WAREHOUSE, or --live for this machine's own home."}
	}
	options := extract.Options{Warehouse: a.config.Warehouse, Host: a.config.Host, User: a.config.User, Live: a.config.Live, MaxScratchBytes: a.config.MaxScratchBytes}
	// Before the warehouse is made: it must not be made inside an input.
	if err := extract.Check(inputs, options); err != nil {
		return err
	}
	house, err := warehouse.Open(a.config.Warehouse)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, house.Close()) }()
	summary := runSummary{RunID: runID(time.Now()), Warehouse: house.Dir(), StartedAt: time.Now().UTC()}

	options.Scratch = house.Scratch()
	unpack := newUnpacking()
	options.Progress = unpack.progress
	unpack.start(a.err, a.log, "reading archives")
	opened, err := extract.Open(ctx, inputs, options)
	unpack.finish()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	jobs := pipeline.Jobs(opened)
	if len(jobs) == 0 {
		a.log.Warn("no home of Goose found", "inputs", inputs)
	}
	read := newReading(a.log, int64(len(jobs)), pipeline.Size(jobs))
	read.start(a.err, a.log, "reading homes")
	runner := &pipeline.Runner{Warehouse: house, RunID: summary.RunID, Version: versionString(), Workers: a.config.Workers, SkipDeleted: a.config.SkipDeleted, Observer: read}
	summary.Summary, err = runner.Run(ctx, jobs)
	read.finish()
	if err != nil {
		if summary.Homes > 0 {
			a.log.Warn("the homes committed so far are in the Parquet files, not in the database: run again", "homes", summary.Homes)
		}
		return err
	}
	for _, is := range opened.InputIssues {
		a.log.Warn(is.Message, "code", is.Code, "path", is.Path)
	}
	summary.Problems = append(summary.Problems, pipeline.Problems("", opened.InputIssues)...)
	summary.FinishedAt = time.Now().UTC()
	if !summary.Complete() || a.config.Strict && summary.Bad > 0 {
		summary.ExitCode = exitIncomplete
	}
	if err := house.RecordRun(summary.RunID, summary.record(inputs)); err != nil {
		return err
	}
	debug.FreeOSMemory() // what reading took is DuckDB's now
	if err := duckdb.Build(ctx, house.Dir(), duckdb.Options{Scratch: house.Scratch(), MemoryLimit: a.config.MemoryLimit}); err != nil {
		return err
	}
	a.exit = summary.ExitCode
	return a.report(&summary)
}

func (s *runSummary) record(inputs []string) runRecord {
	const micros = "2006-01-02T15:04:05.000000"
	r := runRecord{RunID: s.RunID, StartedAt: s.StartedAt.Format(micros), FinishedAt: s.FinishedAt.Format(micros), GanderVersion: versionString(),
		Inputs: inputs, ExitCode: s.ExitCode, Homes: s.Homes, HomesSuperseded: s.Superseded, HomesFailed: int64(len(s.Failures)), Issues: s.Rows["issues"]}
	if inputs == nil {
		r.Inputs = []string{}
	}
	for _, store := range s.Stores {
		r.Records += store.Records
		r.Events += store.Events
		r.InputBytes += store.Bytes
	}
	return r
}

// runID names a run by its time, with a few random digits for runs at once.
func runID(at time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return at.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// report prints the summary: the result of run.
func (a *app) report(s *runSummary) error {
	if a.config.JSON {
		if s.Problems == nil {
			s.Problems = []pipeline.Problem{}
		}
		if s.Failures == nil {
			s.Failures = []pipeline.Failure{}
		}
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return ignoreClosedPipe(enc.Encode(s))
	}
	return ignoreClosedPipe(writeSummary(a.out, s, terminal(a.out) && os.Getenv("NO_COLOR") == ""))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
