// Package render prints the rows of a query: as a table for people, or as CSV,
// JSON, JSON lines or Markdown for programs and documents.
//
// CSV, JSON, JSON lines and Markdown stream: a row is printed before the next
// is asked for. A table is laid out by its first rows and streams the rest, so
// that memory stays bounded however long the result is.
//
// What goes to a terminal cannot drive it: see Options.Terminal.
package render
