package mcp

import "testing"

func TestOnlySafeVariablesAndThoseOfTheDefinitionAreGiven(t *testing.T) {
	base := []string{"PATH=/bin", "Path=x", "HOME=/h", "TOKEN=t", "LC_TIME=de", "LCX=1", "XDG_DATA_HOME=/d", "http_proxy=p", "Http_Proxy=q", "SSL_CERT_FILE=c", "AWS_SECRET=1", "=C:=C:\\x", "broken", "TZ=a\x00b"}
	equal(t, "on Unix", merge(false, base, []string{"TOKEN=given", "HOME=/other", "EMPTY="}),
		[]string{"EMPTY=", "HOME=/other", "LC_TIME=de", "PATH=/bin", "SSL_CERT_FILE=c", "TOKEN=given", "XDG_DATA_HOME=/d", "http_proxy=p"})
	windows := []string{"Path=C:\\bin", "SystemRoot=C:\\w", "ProgramFiles(x86)=C:\\p", "Secret=1", "Temp=t", "=C:=C:\\x"}
	equal(t, "on Windows", merge(true, windows, []string{"PATH=C:\\mine"}),
		[]string{"PATH=C:\\mine", "ProgramFiles(x86)=C:\\p", "SystemRoot=C:\\w", "Temp=t"})
}
