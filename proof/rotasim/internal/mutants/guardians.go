package mutants

import flaw "github.com/rota-run/rota/internal/proof/mutant"

// guardians are the flaws of what ends the session of a dead process.
func guardians() []flaw.Flaw {
	const decides, book = "node/guardian/ward/ward.go", "node/guardian/ward/ward.go"
	return []flaw.Flaw{
		flaw.New("a guardian acts when its line is closed, though its parent may live", decides,
			"case !w.ended:", "case !w.ended && !w.closed:"),
		flaw.New("a guardian ends a session as soon as it hears of it", decides,
			"case !w.closed:\n\t\treturn Listen\n\tcase !w.ended:", "case !w.closed && len(w.sessions) == 0:\n\t\treturn Listen\n\tcase !w.ended && !w.closed:"),
		flaw.New("a guardian ends the session while programs run", decides,
			"case !w.cleared:", "case !w.cleared && len(w.sessions) == 0:"),
		flaw.New("a guardian ends the session though a program is left", decides,
			"case w.left:", "case w.left && len(w.sessions) == 0:"),
		flaw.New("a new guardian hears of no session", book,
			"func (b Book[K]) Held() []Held[K] { return b.held }", "func (b Book[K]) Held() []Held[K] { return b.held[:0] }"),
	}
}
