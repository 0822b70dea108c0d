//go:build !linux

package main

func activator() {}
