// Package transform turns the records that extract streams into the tables of
// the warehouse: content blocks become events, requests and responses become
// tool calls, stored counters become token columns.
//
// A transform is pure: batches in, batches out. It does no IO of its own, knows
// no clock, and reads nothing but its input and what it was given; the state
// that it keeps from batch to batch has a stated bound. Every record that comes
// in is accounted for in its Tally.
package transform
