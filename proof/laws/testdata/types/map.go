// want: loops over a map
// as: cluster/x.go

package cluster

type table map[string]int

func f(m table) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
