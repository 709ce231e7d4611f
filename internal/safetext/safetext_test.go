package safetext

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
)

func TestLineAndEscaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"a b":                  {"a b", "a b"},
		"\x1b[2J":              {"·[2J", `\x1b[2J`},
		"a\nb\r\x7f":           {"a·b··", `a\nb\r\x7f`},
		"moc.\u202egro":        {"moc.·gro", `moc.\u202egro`},
		"\u2066x\u2069\u00ad":  {"·x··", `\u2066x\u2069\u00ad`},
		"\u2028 \u2029 \ufeff": {"· · ·", `\u2028 \u2029 \ufeff`},
		"\u0085\u009b31m":      {"··31m", `\u0085\u009b31m`},
		"नमस्\u200dते":         {"नमस्\u200dते", "नमस्\u200dते"},
		"":                     {"", ""},
	} {
		if got := Line(in, '·'); got != want[0] {
			t.Errorf("Line(%q) is %q, want %q", in, got, want[0])
		}
		if got := Escaped(in); got != want[1] {
			t.Errorf("Escaped(%q) is %q, want %q", in, got, want[1])
		}
	}
	if got := Escaped("a\xff"); got != `a\xff` {
		t.Errorf("no UTF-8: %q", got)
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"weather/poll":                "weather/poll",
		"nats://h:4222/rota?tls=on":   "'nats://h:4222/rota?tls=on'",
		"job#a; curl evil | sh":       "'job#a; curl evil | sh'",
		"it's":                        `'it'\''s'`,
		"":                            "''",
		"$(id)`id`":                   "'$(id)`id`'",
		"x\n; id":                     `$'x\012; id'`,
		"job#\u202egpj":               `$'job#\342\200\256gpj'`,
		"job#'\x1b\\":                 `$'job#\047\033\134'`,
		"größe":                       "'größe'",
		"~root":                       "'~root'",
		"\xff":                        `$'\377'`,
		"--flag":                      "--flag",
		"job#key":                     "job#key",
		"#key":                        "'#key'",
		"file:./a b/rota-data&shared": "'file:./a b/rota-data&shared'",
	} {
		if got := Word(in); got != want {
			t.Errorf("Word(%q) is %s, want %s", in, got, want)
		}
	}
}

// unquoted reads one word as a shell does; false if it is more than a word.
func unquoted(word string) (string, bool) {
	var b strings.Builder
	if strings.HasPrefix(word, "#") {
		return "", false
	}
	for word != "" {
		switch {
		case strings.HasPrefix(word, "$'"):
			end := strings.IndexByte(word[2:], '\'')
			if end < 0 {
				return "", false
			}
			inside := word[2 : 2+end]
			for i := 0; i < len(inside); i++ {
				if inside[i] == '\\' {
					b.WriteByte((inside[i+1]-'0')<<6 | (inside[i+2]-'0')<<3 | (inside[i+3] - '0'))
					i += 3
				} else {
					b.WriteByte(inside[i])
				}
			}
			word = word[3+end:]
		case word[0] == '\'':
			end := strings.IndexByte(word[1:], '\'')
			if end < 0 {
				return "", false
			}
			b.WriteString(word[1 : 1+end])
			word = word[2+end:]
		case word[0] == '\\' && len(word) > 1:
			b.WriteByte(word[1])
			word = word[2:]
		case strings.ContainsAny(word[:1], " \t\n&;|<>()$`\"\\*?[]{}!~^"):
			return "", false
		default:
			b.WriteByte(word[0])
			word = word[1:]
		}
	}
	return b.String(), true
}

// TestAShellReadsTheWordBack: whatever a name is, the command that is suggested has it as one word, and a terminal
// shows what is there.
func TestAShellReadsTheWordBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("ab' \\$`\";\n\x1b\u202e#-~")), 0, 12,
			-1)).Draw(t, "s")
		w := Word(s)
		if got, ok := unquoted(w); !ok || got != s {
			t.Fatalf("Word(%q) is %s, which a shell reads as %q, one word: %v", s, w, got, ok)
		}
		if strings.ContainsFunc(w, Deceives) || strings.ContainsFunc(Line(s, ' '), Deceives) ||
			strings.ContainsFunc(Escaped(s), Deceives) {
			t.Fatalf("%q is not made plain", s)
		}
		document := must.Get(json.Marshal(map[string]string{s: s}))(t)
		var back map[string]string
		if plain := JSON(document); strings.ContainsFunc(string(plain), Deceives) {
			t.Fatalf("%q is not plain", plain)
		} else if err := json.Unmarshal(plain, &back); err != nil || back[strings.ToValidUTF8(s, "\ufffd")] == "" &&
			s != "" {
			t.Fatalf("%q: %v, %v", plain, back, err)
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd…", "aüüü": "aü…", "üüü": "üü…",
		"€€": "€…", "\x80\x80\x80\x80\x80": "…"} {
		if got := Cut(in, 4); got != want {
			t.Errorf("Cut(%q, 4) is %q, want %q", in, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"ulr", "url", 2}, {"kitten", "sitting", 3}, {"statu", "status", 1}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
