package main

import (
	"encoding/json"
	"strings"
)

// lastLine is the last line of an output that is not empty.
func lastLine(output string) string {
	output = strings.TrimSpace(output)
	return output[strings.LastIndexByte(output, '\n')+1:]
}

// figures reads the amounts of a JSON object. What is no JSON object has none.
func figures(line string) amounts {
	var object map[string]any
	if json.Unmarshal([]byte(line), &object) != nil {
		return nil
	}
	out := make(amounts)
	for name, v := range object {
		switch v := v.(type) {
		case float64:
			out[name] = v
		case bool:
			if v {
				out[name] = 1
			}
		case []any:
			out[name] = float64(len(v))
		case map[string]any:
			out[name] = float64(len(v))
		}
	}
	return out
}
