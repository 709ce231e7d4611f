// want: loops over a map

package cluster

func f(m map[string]int) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
