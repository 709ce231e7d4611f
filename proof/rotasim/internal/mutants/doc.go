// Package mutants puts one flaw after the other into the value, the protocol and the supervisor's decisions, and lets the checker and the
// simulator look for it. Each must be found: one that survives is a promise that nobody checks.
package mutants
