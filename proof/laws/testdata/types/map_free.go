// want: nothing
// as: cluster/x.go

package cluster

func f(m map[string]int) (sum int) {
	// order-free: a sum
	for _, n := range m {
		sum += n
	}
	for _, n := range m { // order-free: a sum
		sum += n
	}
	return sum
}
