package schemas

import "slices"

// RecoveredEvents is what deleted rows of a sessions database say, by the
// rules of Events.
var RecoveredEvents = &Table{
	Name: "recovered_events",
	Doc:  "The events that deleted rows of sessions and messages would be (change deleted of recovered_rows). Never part of events; view deleted_timeline shows them.",
	Columns: append(slices.Clone(Events.Columns),
		Column{"evidence", Text, "Evidence of the row: see recovered_rows."},
		Column{"first_commit", Int, "First transaction of the log in which the row was live: see recovered_rows."},
		Column{"last_commit", Int, "Last transaction of the log in which the row was live: see recovered_rows."},
	),
}
