package nats

import (
	"fmt"
	"strconv"
	"strings"
)

// names are those of the streams and subjects of one store. The documents' stream is a key-value bucket, so that `nats kv` shows it.
type names struct{ bucket string }

func (n names) docs() string { return "KV_" + n.bucket }
func (n names) log() string  { return "ROTA_" + n.bucket + "_log" }

func (n names) logSubject() string                { return "rota." + n.bucket + ".log" }
func (n names) journal(name string) string        { return "ROTA_" + n.bucket + "_" + name }
func (n names) journalSubject(name string) string { return "rota." + n.bucket + "." + name }
func (n names) docsSubjects() string              { return "$KV." + n.bucket + ".>" }
func (n names) row(key string) string             { return n.rowPrefix() + encodeKey(key) }
func (n names) rowPrefix() string                 { return "$KV." + n.bucket + "." }
func (n names) format() string                    { return n.row("format") }

// below takes what is below the last segment of a prefix that has an end, and so all rows with that prefix.
func (n names) below(prefix string) string {
	return n.row(prefix[:strings.LastIndexByte(prefix, '/')+1]) + ">"
}

// check is the subject that a read writes to, to have the cluster confirm it.
func (n names) check() string { return n.row("check") }

// encodeKey makes the end of a subject of a key, or of a prefix: a segment becomes a token. What tokens or `nats kv` do not take is written as
// "=" and two digits. No two keys get one subject, and keys below a prefix get subjects below the prefix's.
func encodeKey(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; c {
		case '/':
			b.WriteByte('.')
		case '.', '#', '@', ':', '=':
			fmt.Fprintf(&b, "=%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// decodeKey is the inverse of encodeKey; false for what that does not make.
func decodeKey(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '.':
			b.WriteByte('/')
		case '=':
			if i+2 >= len(text) {
				return "", false
			}
			code, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			b.WriteByte(byte(code))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	key := b.String()
	return key, encodeKey(key) == text
}
