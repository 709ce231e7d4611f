// want: no rule says

package nowhere
