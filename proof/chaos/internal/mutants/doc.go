// Package mutants shows that a run of chaos can fail: it builds the binary rota with one flaw after the other, and expects that each is noticed.
package mutants
