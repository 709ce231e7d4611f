// want: init:

package api

func init() {}
