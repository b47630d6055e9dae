package synth

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gander/schemas/jsonval"
)

// maxLogs is how many request logs Goose keeps.
const maxLogs = 10

// file writes a file of the home.
func (h *home) file(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	return os.Chtimes(path, mtime, mtime)
}

// writeLegacy writes the session files of older releases. Every other one the
// database holds too, as it does after Goose imported it.
func (h *home) writeLegacy() error {
	now := h.clock
	for i := range h.o.Legacy {
		h.clock = time.Date(2025, 3, 1, 9, 0, 0, 0, time.UTC).Unix() + int64(i)*86_400/2
		s := h.begin("user")
		s.id = time.Unix(h.clock, 0).UTC().Format("20060102_150405")
		s.stored, s.frozen = i%2 == 0, 0
		for range 1 + h.r.IntN(4) {
			if err := h.turn(s, false); err != nil {
				return err
			}
		}
		if err := h.end(s); err != nil {
			return err
		}
		h.last = nil
		if s.kept == nil {
			continue // too long for what these files are here for
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"working_dir":%s,"description":%s,"schedule_id":null,"message_count":%d,"total_tokens":%d,"input_tokens":%d,"output_tokens":%d,"accumulated_total_tokens":%d,"accumulated_input_tokens":%d,"accumulated_output_tokens":%d}`+"\n",
			jsonval.AppendQuoted(nil, s.dir), jsonval.AppendQuoted(nil, s.name), len(s.kept), s.input+s.output, s.input, s.output, s.allInput+s.allOutput, s.allInput, s.allOutput)
		for _, m := range s.kept {
			fmt.Fprintf(&b, `{"id":"%s","role":"%s","created":%d,"content":%s,"metadata":%s}`+"\n", m.id, m.role, m.created, m.content, m.metadata)
		}
		if err := h.file(filepath.Join(h.data, "sessions", s.id+".jsonl"), b.Bytes()); err != nil {
			return err
		}
		h.counts.LegacyFiles++
		h.counts.LegacyLines += int64(1 + len(s.kept))
		if s.stored {
			h.counts.Imported++
		}
	}
	h.clock = now
	return nil
}

// writeLogs writes the logs of the last replies, the newest as number 0, which
// is a call that failed.
func (h *home) writeLogs() error {
	for n := 0; n < h.o.Logs && n <= len(h.recent); n++ {
		failed := n == 0
		var l logged
		switch {
		case !failed:
			l = h.recent[len(h.recent)-n]
		case len(h.recent) > 0:
			l = h.recent[len(h.recent)-1]
		default:
			l = logged{model: models[0].name, prompt: "hello"}
		}
		var b []byte
		b = append(append(b, `{"model_config":{"model_name":"`...), l.model...)
		b = append(append(b, `","temperature":null,"max_tokens":16384},"input":{"model":"`...), l.model...)
		b = append(b, `","messages":[{"role":"system","content":"You are a general-purpose AI agent called goose."},{"role":"user","content":`...)
		b = append(jsonval.AppendQuoted(b, l.prompt), `}],"stream":true}}`...)
		b = append(b, '\n')
		if failed {
			b = append(b, `{"error":"Server error: the model is overloaded"}`...)
			b = append(b, '\n')
		} else {
			b = appendReply(b, &l)
		}
		if err := h.file(filepath.Join(h.state, "logs", "llm_request."+strconv.Itoa(n)+".jsonl"), b); err != nil {
			return err
		}
		h.counts.Logs++
	}
	return nil
}

// chunkBytes is about how much text a provider sends at a time.
const chunkBytes = 24

func appendReply(b []byte, l *logged) []byte {
	chunk := func(block []byte) {
		b = append(append(b, `{"data":{"id":"`...), l.id...)
		b = strconv.AppendInt(append(b, `","role":"assistant","created":`...), l.created, 10)
		b = append(append(b, `,"content":[`...), block...)
		b = append(b, `],"metadata":{"userVisible":true,"agentVisible":true}},"usage":null}`...)
		b = append(b, '\n')
	}
	var block []byte
	for _, p := range l.parts {
		if p.kind == "" {
			chunk([]byte(p.json))
			continue
		}
		for rest := p.text; rest != ""; {
			n := min(len(rest), chunkBytes)
			for n < len(rest) && rest[n]&0xc0 == 0x80 {
				n++
			}
			block = append(append(block[:0], `{"type":"`...), p.kind...)
			block = append(append(block, `","`...), p.kind...)
			block = jsonval.AppendQuoted(append(block, `":`...), rest[:n])
			if p.kind == "thinking" {
				block = append(block, `,"signature":""`...)
			}
			chunk(append(block, '}'))
			rest = rest[n:]
		}
	}
	return fmt.Appendf(b, `{"data":null,"usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d,"cache_read_input_tokens":%d,"cache_write_input_tokens":null}}`+"\n",
		l.input, l.output, l.input+l.output, l.cached)
}

// writeHistory writes the prompts that were typed, a command now and then.
func (h *home) writeHistory() error {
	if h.o.History == 0 {
		return nil
	}
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	b := []byte("#V2\n")
	for i, p := range h.prompts {
		if i%10 == 9 && h.counts.History < int64(h.o.History) {
			b = append(b, "/mode smart_approve\n"...)
			h.counts.History++
		}
		if p = strings.TrimSpace(p); p == "" || h.counts.History >= int64(h.o.History) {
			continue
		}
		b = append(append(b, escape.Replace(p)...), '\n')
		h.counts.History++
	}
	return h.file(filepath.Join(h.state, "history.txt"), b)
}
