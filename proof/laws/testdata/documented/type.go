// want: Secret is exported and not documented
// as: api/x.go

package api

type Secret struct{}
