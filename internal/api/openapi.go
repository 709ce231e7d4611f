package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// object is one of JSON.
type object map[string]any

// describe answers with an OpenAPI document of the paths that this member has.
func (h *handler) describe(w http.ResponseWriter, _ *http.Request) {
	d := &describer{schemas: object{}}
	paths := object{}
	for _, op := range h.operations() {
		paths[op.path] = object{strings.ToLower(op.verb()): d.operation(op)}
	}
	d.schema(reflect.TypeFor[Beginning]())
	d.schema(reflect.TypeFor[Changed]())
	components := object{"schemas": d.schemas}
	out := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Rota", "version": "1", "license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"},
			"description": "What a member knows of its cluster, and, where the member has a token, what changes it. Names of fields and their meaning do not change within a major version; new fields may come.",
		},
		"servers": []object{{"url": "/"}}, "paths": paths, "components": components,
	}
	if h.c.guarded() {
		components["securitySchemes"] = object{"token": object{"type": "http", "scheme": "bearer"}}
		out["security"] = []object{{"token": []string{}}}
	}
	answer(w, out)
}

// describer collects the schemas that operations name.
type describer struct{ schemas object }

func (d *describer) operation(op operation) object {
	name := strings.NewReplacer("/v1/", "", "/", "", ".json", "").Replace(op.path)
	responses := object{"200": d.response(op)}
	codes := map[int]string{http.StatusForbidden: "the request comes from a page of another site, or would change the cluster with a token that only reads", http.StatusUnauthorized: "the request carries no valid token", http.StatusMisdirectedRequest: "the server was asked by a name that is not its own"}
	if len(op.params) > 0 || strings.HasPrefix(op.path, "/v1/") {
		codes[http.StatusBadRequest] = "a parameter is missing, unknown or wrong"
	}
	for code, text := range op.codes { // order-free: into a map
		codes[code] = text
	}
	for code, text := range codes { // order-free: into a map
		body := reflect.TypeFor[Fault]()
		if op.path == "/readyz" && code == http.StatusServiceUnavailable {
			body = reflect.TypeFor[Readiness]()
		}
		responses[strconv.Itoa(code)] = object{"description": text,
			"content": object{"application/json": object{"schema": d.schema(body)}}}
	}
	out := object{"operationId": name, "summary": op.summary, "responses": responses}
	if op.body != "" {
		out["requestBody"] = object{"required": true,
			"content": object{op.body: object{"schema": object{"type": "string"}}}}
	}
	if len(op.params) > 0 {
		out["parameters"] = parameters(op.params)
	}
	return out
}

func parameters(params []parameter) (out []object) {
	for _, p := range params {
		schema := object{"type": p.kind}
		if p.values != nil {
			schema["enum"] = p.values
		}
		if p.many {
			schema = object{"type": "array", "items": schema, "minItems": 1}
		}
		out = append(out, object{"name": p.name, "in": "query", "required": p.required, "description": p.summary,
			"schema": schema})
	}
	return out
}

func (d *describer) response(op operation) object {
	switch op.shape {
	case raw:
		schema := object{"type": "string"}
		if op.media == "application/json" {
			schema = object{"type": "object"}
		}
		return object{"description": op.summary, "content": object{op.media: object{"schema": schema}}}
	case listed:
		return object{
			"description": op.summary,
			"headers": object{"Link": object{"description": `the next page: <…>; rel="next"`,
				"schema": object{"type": "string"}}},
			"content": object{"application/json": object{"schema": object{"type": "array",
				"items": d.schema(reflect.TypeOf(op.answer))}}},
		}
	}
	return object{"description": op.summary,
		"content": object{"application/json": object{"schema": d.schema(reflect.TypeOf(op.answer))}}}
}

// schema describes a type as encoding/json writes it.
func (d *describer) schema(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Slice:
		if t != reflect.TypeFor[json.RawMessage]() { // which is anything
			return object{"type": "array", "items": d.schema(t.Elem())}
		}
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint64, reflect.Uint32, reflect.Uint:
		return object{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return object{"type": "integer"}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Struct:
		return d.named(t)
	}
	return object{} // anything
}

func (d *describer) named(t reflect.Type) object {
	if _, ok := d.schemas[t.Name()]; !ok {
		d.schemas[t.Name()] = object{} // it may name itself
		properties, required := object{}, []string{}
		d.fields(t, properties, &required)
		slices.Sort(required)
		d.schemas[t.Name()] = object{"type": "object", "properties": properties, "required": required}
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}

func (d *describer) fields(t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			d.fields(f.Type, properties, required)
			continue
		case name == "-" || !f.IsExported():
			continue
		}
		properties[name] = d.schema(f.Type)
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}
