package main

import "fmt"

// input is who owns what when a plan is due. Partition i is partition i/topics of topic i%topics.
type input struct {
	name       string
	members    int
	partitions int
	topics     int
	owner      []int // by partition; −1 for none
}

// newInput is an even sharing after which one member left, one joined, or nothing has been started yet.
func newInput(change string, members, partitions, topics int) (input, error) {
	in := input{name: change, members: members, partitions: partitions, topics: topics, owner: make([]int, partitions)}
	for i := range in.owner {
		switch change {
		case "leave": // members+1 shared them, the last has gone
			if in.owner[i] = i % (members + 1); in.owner[i] == members {
				in.owner[i] = -1
			}
		case "join": // members−1 shared them, the last is new
			in.owner[i] = i % max(members-1, 1)
		case "start":
			in.owner[i] = -1
		default:
			return input{}, fmt.Errorf("change %q: try leave, join or start", change)
		}
	}
	return in, nil
}

func memberID(m int) string { return fmt.Sprintf("member-%06d", m) }

func topic(t int) string { return fmt.Sprintf("topic-%04d", t) }

// moves counts the partitions that had an owner and have another or none.
func (in input) moves(after []int) (n int) {
	for i, o := range in.owner {
		if o >= 0 && after[i] != o {
			n++
		}
	}
	return n
}
