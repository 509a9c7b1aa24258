package offline

import (
	"encoding/json"
	"fmt"

	"thresher/batch"
	"thresher/service/problem"
	"thresher/service/wire"
)

// outLine writes the lines of a request's answer in the format of the Batch API: id,
// custom_id, and one of response and error. Lines of errors also have a member line, the
// request's line in the input. Ids do not change if a line is written again.
type outLine struct {
	batch   string
	request *request
}

// appendHead appends what all lines begin with.
func (l outLine) appendHead(dst []byte) []byte {
	customID := []byte("null")
	if l.request.customID != "" {
		customID, _ = json.Marshal(l.request.customID) // a string has JSON
	}
	return fmt.Appendf(dst, `{"id":"batch_req_%s","custom_id":%s,`, l.id(), customID)
}

func (l outLine) id() string { return digest(l.batch, fmt.Sprint(l.request.line))[:24] }

func (l outLine) respond(dst []byte, status int) []byte {
	return fmt.Appendf(dst, `"response":{"status_code":%d,"request_id":"req_%s","body":`, status, l.id())
}

// answer appends the line of an answered request.
func (l outLine) answer(dst []byte, version int64, answers []batch.Answer) []byte {
	dst = l.respond(l.appendHead(dst), 200)
	of, writes := l.request.shelf.state()
	if writes != nil { // what the version is a copy of
		version = of
	}
	dst = wire.AppendAnswer(dst, version, writes, 0, &batch.Response{Answers: answers}, l.request.search, l.request.shelf.naming())
	return append(dst, "},\"error\":null}\n"...)
}

// problem appends the line of a request that the server would have answered with p.
func (l outLine) problem(dst []byte, p *problem.Problem) []byte {
	body, err := json.Marshal(p)
	if err != nil { // a limit that JSON cannot express
		plain := *p
		plain.Limit = nil
		body, _ = json.Marshal(&plain)
	}
	dst = l.respond(l.appendHead(dst), p.Kind.Status())
	dst = append(dst, body...)
	return fmt.Appendf(dst, "},\"error\":null,\"line\":%d}\n", l.request.line)
}

// failure appends the line of an invalid request, or of one that was not executed.
func (l outLine) failure(dst []byte, code, message string) []byte {
	text, _ := json.Marshal(message) // a string has JSON
	return fmt.Appendf(l.appendHead(dst), "\"response\":null,\"error\":{\"code\":%q,\"message\":%s},\"line\":%d}\n", code, text, l.request.line)
}
