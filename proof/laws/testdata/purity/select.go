// want: selects
// as: work/step_x.go

package work

func f() {
	select {}
}
