package transform

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"gander/schemas"
)

// dice makes homes of few ids, texts and times, so that everything is repeated.
type dice struct{ *rand.Rand }

func (d dice) of(list ...string) string { return list[d.IntN(len(list))] }

// second is a time near noon, often one that rule (c) is exact about.
func (d dice) second() int {
	return noon + []int{0, 0, 1, 2, -300, 300, 599, 600, 601, -599, -600, -601, 1200, -1200, 1799, 1801}[d.IntN(16)]
}

func (d dice) text() string { return d.of("a", "b", "c", "ab", "a b", " a", "same") }

func (d dice) block() string {
	id, arguments := d.of("c1", "c2", "c3", ""), d.of(`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":9}`)
	switch d.IntN(8) {
	case 0, 1, 2, 3:
		return textBlock(d.text())
	case 4:
		return `{"type":"thinking","thinking":` + quote(d.text()) + `}`
	case 5:
		return `{"type":"toolResponse","id":"` + id + `","toolResult":{"status":"success","value":{"content":[` + textBlock(d.text()) + `]}}}`
	case 6:
		return `{"type":"error","kind":"k","message":` + quote(d.text()) + `}`
	}
	return `{"type":"toolRequest","id":"` + id + `","toolCall":{"status":"success","value":{"name":"` + d.of("sh", "ls") + `","arguments":` + arguments + `}}}`
}

func (d dice) blocks() string {
	list := make([]string, d.IntN(4))
	for i := range list {
		list[i] = d.block()
	}
	return strings.Join(list, ",")
}

func (d dice) messageID() string { return d.of("m1", "m2", "m3", "m4", "m5", "") }

// stamp is a time as SQLite has it, at times a fraction of a second late.
func (d dice) stamp() string {
	return time.Unix(int64(d.second()), 0).UTC().Format(time.DateTime) + d.of("", "", ".5", ".000001", ".999999")
}

func (d dice) database() stream {
	var s stream
	s.add(schemas.DBTables, rec{"table_name": "thread_messages", "rows": d.IntN(2)})
	sessions := 1 + d.IntN(3)
	id := func(n int) string { return []string{"20261001_080000", "s1", "s2"}[n] }
	for n := range sessions {
		s.add(schemas.RawSessions, rec{"ordinal": n, "row_id": n + 1, "session_id": id(n), "working_dir": "/w", "session_type": "user", "created_at": "2026-10-01 09:00:00", "created_at_text": "2026-10-01 09:00:00"})
	}
	row := 0
	for n := range sessions {
		for _, table := range []string{"messages", "thread_messages"} {
			for range d.IntN(6) {
				row++
				m := rec{"session": n, "source_table": table, "row_id": row, "role": d.of("user", "assistant", "assistant"), "message_id": d.messageID(), "content_json": "[" + d.blocks() + "]"}
				if d.IntN(8) > 0 {
					m["created_at"] = d.stamp()
				}
				switch d.IntN(12) {
				case 0:
					m["content_json"] = "[" // cannot be read
				case 1:
					m["copied_from_session_id"] = id(0)
				}
				s.add(schemas.RawMessages, m)
			}
		}
	}
	for n := range d.IntN(6) {
		s.add(schemas.RawUsage, rec{"row_id": n + 1, "session_id": id(d.IntN(sessions)), "model": d.of("m", "other", ""), "created_at": d.stamp(), "input_tokens": 10, "output_tokens": 2, "total_tokens": 12})
	}
	return s
}

// log is that of a number: no two logs are the same.
func (d dice) log(n int) string {
	chunks := make([]string, d.IntN(4))
	for i := range chunks {
		chunks[i] = chunk(d.messageID(), d.second(), d.blocks())
	}
	log := logOf(d.text(), chunks...)
	var items string
	for range d.IntN(4) {
		switch role := d.of("user", "assistant", "tool"); role {
		case "tool":
			items += `,{"role":"tool","tool_call_id":"` + d.of("c1", "c2") + `","content":` + quote(d.text()) + `}`
		default:
			items += `,{"role":"` + role + `","content":` + quote(d.text()+d.of("", " only here")) + `}`
		}
	}
	return strings.Replace(log, `],"tools"`, items+fmt.Sprintf(`],"n":%d,"tools"`, n), 1)
}

func (d dice) legacy() string {
	file := `{"description":"old","working_dir":"/w","created_at":"2026-10-01T08:00:00Z"}` + "\n"
	for range d.IntN(5) {
		file += fmt.Sprintf(`{"id":%s,"role":"%s","created":%d,"content":[%s]}`, quote(d.messageID()), d.of("user", "assistant"), d.second(), d.blocks()) + "\n"
	}
	return file
}

func randomHome(seed uint64) homeOf {
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	h := homeOf{database: d.database(), legacy: map[string]string{}, logs: map[string]string{}}
	for _, id := range []string{"20261001_080000", "20250301_080000"}[:d.IntN(3)] {
		h.legacy[id] = d.legacy()
	}
	for n := range d.IntN(4) {
		h.logs[fmt.Sprintf("llm_request.%d.jsonl", n)] = d.log(n)
	}
	for range d.IntN(4) {
		h.history = append(h.history, d.text())
	}
	return h
}
