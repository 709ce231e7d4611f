// want: uses fmt.Println
// as: cluster/x.go

package cluster

import "fmt"

func f() { fmt.Println() }
