// Package joins measures how long a member takes to join a cluster whose log is long, on each store.
//
//	ROTA_JOIN_ENTRIES=1000000 go test -run '^$' -bench Join/memory -benchtime 5x ./bench/joins
package joins
