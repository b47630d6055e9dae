// Package memo remembers fixed-size values under 128-bit keys in bounded
// memory.
//
// A Table is an open-addressing hash table of pages: 64 slots of 64 bytes, a
// key and its value each. The top bits of a key name its page, and a page that
// is full borrows from the next one; at most three quarters of all slots are
// taken, which is 86 bytes a record when pages have filled up and 171 when they
// have just doubled.
//
// Up to a limit of records the pages are in memory, and half as much again
// while their number doubles. The record beyond the limit moves those before it
// to a file of the same layout, and memory fills again: for 786,432 records
// that is 64 MiB. Beside it memory holds 4 MiB of the file's pages, and a
// filter of at most 32 MiB that answers nearly every question about a key that
// is not in the file. While the file grows there are two of it.
//
// Nothing is ever taken out. The first error of the file stays: a Table that
// has one answers nothing any more, and whoever asked it must look at Err
// before relying on what was answered.
package memo
