// Gander reads what the Goose agent left in many home directories into a
// warehouse of Parquet files and one DuckDB database.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(Main()) }

// Main runs gander with the arguments of the process and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end; a second one ends at once.
	context.AfterFunc(ctx, stop)
	return execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
}
