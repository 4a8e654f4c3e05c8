//! Owns reading certificates to trust from a file's bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

/// Bytes that hold no certificate to trust.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorityError {
    /// There is none.
    #[error("it holds no certificate, neither in PEM nor in DER form")]
    None,
    /// One of them cannot be read.
    #[error("its certificate {number} cannot be read: {reason}")]
    Unreadable {
        /// Which, from 1.
        number: usize,
        /// Why.
        reason: String,
    },
}

/// The certificates in the bytes, in PEM form: a PEM bundle, or one certificate in DER form.
pub fn read_authorities(bytes: &[u8]) -> Result<String, AuthorityError> {
    const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let unreadable = |number: usize, reason: String| AuthorityError::Unreadable { number, reason };
    let mut certificates: Vec<CertificateDer<'static>> = Vec::new();
    for (index, certificate) in CertificateDer::pem_slice_iter(bytes).enumerate() {
        certificates.push(certificate.map_err(|error| unreadable(index + 1, format!("{error:?}")))?);
    }
    if certificates.is_empty() {
        /// DER begins with a SEQUENCE.
        const SEQUENCE: u8 = 0x30;
        if bytes.first() != Some(&SEQUENCE) {
            return Err(AuthorityError::None);
        }
        certificates.push(CertificateDer::from(bytes.to_vec()));
    }
    let mut store = RootCertStore::empty();
    let mut pem = String::new();
    for (index, certificate) in certificates.into_iter().enumerate() {
        push_pem(&mut pem, &certificate);
        store.add(certificate).map_err(|error| unreadable(index + 1, error.to_string()))?;
    }
    Ok(pem)
}

fn push_pem(pem: &mut String, certificate: &CertificateDer<'_>) {
    const LINE: usize = 64;
    pem.push_str("-----BEGIN CERTIFICATE-----\n");
    let text = STANDARD.encode(certificate);
    for (index, character) in text.chars().enumerate() {
        if index > 0 && index % LINE == 0 {
            pem.push('\n');
        }
        pem.push(character);
    }
    pem.push_str("\n-----END CERTIFICATE-----\n");
}

#[cfg(test)]
mod tests {
    use super::{AuthorityError, read_authorities};

    fn certificate(name: &str) -> rcgen::Certificate {
        rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert
    }

    #[test]
    fn bundles_and_der_are_read_as_the_same_certificates() {
        let (one, two) = (certificate("one"), certificate("two"));
        let lines = |pem: &str| pem.lines().map(str::to_owned).collect::<Vec<_>>();
        let bundle = format!("\u{feff}subject: two certificates\r\n{}\n{}", one.pem(), two.pem());
        let read = read_authorities(bundle.as_bytes()).unwrap();
        assert_eq!(lines(&read), lines(&format!("{}{}", one.pem(), two.pem())));
        assert_eq!(lines(&read_authorities(one.der()).unwrap()), lines(&one.pem()));
    }

    #[test]
    fn what_holds_no_certificate_is_refused() {
        assert_eq!(read_authorities(b""), Err(AuthorityError::None));
        assert_eq!(read_authorities(b"no certificate"), Err(AuthorityError::None));
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert_eq!(read_authorities(key.as_bytes()), Err(AuthorityError::None));
        let good = certificate("one").pem();
        let broken = format!("{good}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let error = read_authorities(broken.as_bytes()).unwrap_err();
        assert!(matches!(error, AuthorityError::Unreadable { number: 2, .. }), "{error}");
        let der = certificate("one").der().to_vec();
        let error = read_authorities(&der[..der.len() - 9]).unwrap_err();
        assert!(matches!(error, AuthorityError::Unreadable { number: 1, .. }), "{error}");
    }
}
