// Package secure is TLS as every peer here has it: files of a test, and Go's own crypto/tls.
package secure

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"net"
	"net/http"
	"os"
)

// Files are PEM files. CA proves the peer: at a server it is what makes clients show a certificate.
type Files struct{ CA, Cert, Key string }

// Flags adds -ca, -cert and -key.
func (f *Files) Flags(flags *flag.FlagSet) {
	flags.StringVar(&f.CA, "ca", "", "PEM file that proves the peer")
	flags.StringVar(&f.Cert, "cert", "", "PEM file of our own certificate")
	flags.StringVar(&f.Key, "key", "", "its key")
}

// Config is what the files say, or nil where there are none.
func (f Files) Config() (*tls.Config, error) {
	if f.CA == "" && f.Cert == "" {
		return nil, nil
	}
	made := &tls.Config{}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		made.RootCAs, made.ClientCAs = roots, roots
		made.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, err
		}
		made.Certificates = []tls.Certificate{pair}
	}
	return made, nil
}

// Listen binds a port, for WebSockets. It answers their scheme, too.
func (f Files) Listen(at string) (net.Listener, string, error) {
	config, err := f.Config()
	if err != nil {
		return nil, "", err
	}
	listener, err := net.Listen("tcp", at)
	if err != nil || config == nil {
		return listener, "ws://", err
	}
	config.NextProtos = []string{"http/1.1"}
	return tls.NewListener(listener, config), "wss://", nil
}

// Client is for the dial of a WebSocket.
func (f Files) Client() (*http.Client, error) {
	config, err := f.Config()
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}, err
}
