//go:build !unix

package backend

import (
	"context"
	"errors"
)

func findServer() (string, error) {
	return "", &OpenError{
		Err:  errors.New("a managed server needs a Unix system"),
		Hint: "use --redis embedded, or the URL of a server: --redis redis://localhost:6379",
	}
}

func openManaged(context.Context, string, Options) (*Server, error) {
	_, err := findServer()
	return nil, err
}
