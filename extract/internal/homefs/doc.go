// Package homefs shows directories on disk and listed archives as one kind of
// read-only tree, so that finding homes and stores is written once.
//
// Paths are slash-separated and relative to the tree's root, "." for the root
// itself. Nothing in this package writes, and nothing in it opens a file that
// is not a regular one: a fifo never blocks it, a device is never read.
package homefs
