// Package synth writes fleets of synthetic Goose homes for tests and
// benchmarks. The same Options give the same bytes, databases included.
//
// A home holds a sessions.db of schema 16 and, on request, session files of
// older releases, request logs and the history of the command line. Lengths are
// drawn from log-normal distributions as real ones are spread: most texts are
// short, a few tool results are megabytes long. Nothing in a home is damaged: a
// reader that finds a problem is wrong.
package synth
