// Command gander-synth writes a fleet of synthetic homes of Goose.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"gander/cmd/gander-synth/synth"
)

const usage = `gander-synth writes a fleet of synthetic homes of Goose into an empty directory
and prints what it wrote as JSON. The same flags give the same bytes.

  gander-synth -o homes --homes 20 --mb 5 --wal 0.5 --legacy 4 --logs 10 --history 200
  gander-synth -o big --mb 600

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "gander-synth:", err)
		os.Exit(1)
	}
}

// errUsage is for what the flag package has reported already.
var errUsage = errors.New("wrong use")

func run(ctx context.Context, args []string, out, messages io.Writer) error {
	o := synth.Defaults()
	flags := flag.NewFlagSet("gander-synth", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.Usage = func() {
		fmt.Fprint(messages, usage)
		flags.PrintDefaults()
	}
	dir := flags.String("o", "", "`directory` to write to")
	mix := flags.String("mix", "real", "lengths of texts: real, small or large")
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "what everything is drawn from")
	flags.IntVar(&o.Homes, "homes", o.Homes, "number of homes")
	flags.Float64Var(&o.MB, "mb", o.MB, "size of each home's database in MB")
	flags.IntVar(&o.Sessions, "sessions", o.Sessions, "sessions a home at most; 0: as many as its size takes")
	flags.Float64Var(&o.Tools, "tools", o.Tools, "share of turns that call tools, from 0 to 1")
	flags.Float64Var(&o.Images, "images", o.Images, "share of prompts with an image")
	flags.Float64Var(&o.Forks, "forks", o.Forks, "share of sessions that copy the one before")
	flags.Float64Var(&o.Compactions, "compactions", o.Compactions, "share of sessions that were compacted")
	flags.Float64Var(&o.SubAgents, "subagents", o.SubAgents, "share of sessions that delegate to another")
	flags.Float64Var(&o.WAL, "wal", o.WAL, "share of homes with a write-ahead log")
	flags.Float64Var(&o.LargestMB, "largest", o.LargestMB, "size in MB of one tool result that each home has beside --mb; 0: none")
	flags.IntVar(&o.Legacy, "legacy", o.Legacy, "session files of older releases a home")
	flags.IntVar(&o.Logs, "logs", o.Logs, "request logs a home, at most 10")
	flags.IntVar(&o.History, "history", o.History, "entries of the command line's history a home")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if *dir == "" || flags.NArg() > 0 {
		flags.Usage()
		return errUsage
	}
	var err error
	if o.Mix, err = synth.ParseMix(*mix); err != nil {
		return err
	}
	counts, err := synth.Write(ctx, *dir, o)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(counts)
}
