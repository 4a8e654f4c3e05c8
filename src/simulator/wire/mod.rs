//! Owns TDS: packets, pre-login, TLS, login, requests and tokens.
