// want: Secret is not documented

package api

type Secret struct{}
