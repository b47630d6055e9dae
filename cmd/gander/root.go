package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gander/configs"
	"gander/load/render"
	"gander/schemas/fault"
)

// Exit codes. They are part of the interface: scripts rely on them.
const (
	exitOK          = 0
	exitIncomplete  = 1   // done, but something could not be read whole
	exitUsage       = 2   // wrong use, or an input that cannot be opened
	exitOutput      = 3   // the warehouse cannot be written or is not gander's
	exitInterrupted = 130 // SIGINT or SIGTERM
)

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is one invocation.
type app struct {
	streams
	configFile string
	config     configs.Config
	log        *slog.Logger
	exit       int // code of a command that did its work
}

func execute(ctx context.Context, args []string, io streams) int {
	a := &app{streams: io, log: slog.New(slog.NewTextHandler(io.err, nil))}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(io.err, "gander: interrupted")
		return exitInterrupted
	}
	if err != nil {
		return a.fail(err)
	}
	return a.exit
}

// fail prints err with what can be done about it and returns the exit code.
func (a *app) fail(err error) int {
	message, hint := err.Error(), fault.HintOf(err)
	if terminal(a.err) {
		message, hint = render.Escape(message), render.Escape(hint)
	}
	fmt.Fprintln(a.err, "gander:", message)
	if hint != "" {
		fmt.Fprintln(a.err, "hint:", hint)
	}
	var known *fault.Error
	if !errors.As(err, &known) {
		return exitUsage // what cobra says of arguments and flags
	}
	switch known.Kind {
	case fault.Usage:
		return exitUsage
	case fault.Output:
		return exitOutput
	}
	return exitIncomplete
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "gander",
		Short: "Take a gander at the geese: Goose's stores as Parquet and DuckDB",
		Long: `gander reads what the Goose agent left in home directories - collected by the
thousand, or this machine's own - and writes a warehouse: Parquet files and one
DuckDB database. Inputs are evidence: nothing in them is ever changed.

Exit codes: 0 done; 1 done, but something could not be read whole (the summary
names it); 2 wrong use, or an input that cannot be opened; 3 the warehouse
cannot be written or is not gander's; 130 interrupted.`,
		Example: `  gander run /evidence/collections -o warehouse
  gander sql "SELECT host, user, count(*) FROM timeline GROUP BY ALL"`,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.configure(cmd) },
	}
	d := configs.Defaults()
	root.PersistentFlags().StringP("warehouse", "w", d.Warehouse, "directory of the warehouse")
	root.PersistentFlags().StringVar(&a.configFile, "config", "", "read settings from this YAML `file` (GANDER_CONFIG)")
	root.PersistentFlags().String("log-format", d.LogFormat, "form of messages on stderr: text or json")
	root.AddCommand(a.runCommand(), a.discoverCommand(), a.sqlCommand(), a.exportCommand(), a.verifyCommand(), a.schemaCommand(), a.versionCommand())
	return root
}

// configure reads the settings and sets up logging, before any command.
func (a *app) configure(cmd *cobra.Command) error {
	if a.configFile == "" {
		a.configFile = os.Getenv("GANDER_CONFIG")
	}
	var err error
	if a.config, err = configs.Load(cmd.Flags(), a.configFile); err != nil {
		return err
	}
	if a.config.LogFormat == "json" {
		a.log = slog.New(slog.NewJSONHandler(a.err, nil))
	}
	return nil
}

// terminal reports whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the columns of the terminal that w is, 0 for anything else.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// plural writes a count with its noun: "1 home", "2,000 homes".
func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped writes n with a comma every three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// size writes bytes in the largest decimal unit that leaves a whole digit.
func size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB", "PB", "EB"} {
		if f /= 1000; f < 1000 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}
