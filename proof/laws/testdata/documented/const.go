// want: Answer is exported and not documented
// as: api/x.go

package api

const Answer = 42
