//! A minimal HTTP client. It adds only the necessary headers to the headers that a test gives, and
//! follows no redirects.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

/// The timeout of a read. It is longer than the default timeout of an approval, and than the longest
/// test in which a call waits while a person looks at all screens.
const TIMEOUT: Duration = Duration::from_secs(240);

/// A URL of the form `http://HOST:PORT/PATH`.
#[derive(Debug, Clone)]
pub struct Url {
    /// `HOST:PORT`
    pub authority: String,
    pub path: String,
}

impl Url {
    #[track_caller]
    pub fn parse(url: &str) -> Self {
        let address = url
            .strip_prefix("http://")
            .unwrap_or_else(|| panic!("not an http URL: {url}"));
        let (authority, path) = address.split_once('/').unwrap_or((address, ""));
        Self {
            authority: authority.to_owned(),
            path: format!("/{path}"),
        }
    }

    /// Returns the URL of another path on the same listener.
    pub fn with_path(&self, path: &str) -> Self {
        Self {
            authority: self.authority.clone(),
            path: path.to_owned(),
        }
    }
}

/// A request. `Connection: close` is always added, `Content-Length` if there is a body or the
/// method is POST, and `Host` if it is missing. `Host: ""` omits the header.
pub struct Request<'a> {
    pub method: &'a str,
    pub url: &'a Url,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

impl Request<'_> {
    /// Sends the request and reads the head of the response.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing listens, if the connection breaks, or if the response is not
    /// HTTP.
    pub fn send(&self) -> io::Result<Response> {
        Response::read(BufReader::new(self.begin()?))
    }

    /// Sends the request without waiting for a response. Dropping the connection withdraws the
    /// request.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing listens, or if the connection breaks.
    pub fn begin(&self) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.url.authority)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        stream.write_all(&self.encode_head())?;
        stream.write_all(self.body)?;
        Ok(stream)
    }

    fn encode_head(&self) -> Vec<u8> {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nConnection: close\r\n",
            self.method, self.url.path
        );
        let has_header = |name: &str| {
            self.headers
                .iter()
                .any(|(header, _)| header.eq_ignore_ascii_case(name))
        };
        if !has_header("Host") {
            head += &format!("Host: {}\r\n", self.url.authority);
        }
        if !self.body.is_empty() || self.method == "POST" {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in self.headers {
            if !(name.eq_ignore_ascii_case("Host") && value.is_empty()) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        head += "\r\n";
        head.into_bytes()
    }
}

/// A response whose body is not read yet.
pub struct Response {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Box<dyn BufRead + Send>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Reads the body to its end.
    ///
    /// # Errors
    ///
    /// Returns an error if the body breaks off or is not UTF-8.
    pub fn text(mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.body.read_to_end(&mut bytes)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    /// Reads the head of a response.
    ///
    /// # Errors
    ///
    /// Returns an error if the connection breaks, or if the response is not HTTP.
    pub fn read(mut stream: BufReader<TcpStream>) -> io::Result<Self> {
        let status = read_line(&mut stream)?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no status line"))?;
        let mut headers = Vec::new();
        loop {
            let line = read_line(&mut stream)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut response = Self {
            status,
            headers,
            body: Box::new(io::empty()),
        };
        response.body = if response
            .header("Transfer-Encoding")
            .is_some_and(|encoding| encoding.contains("chunked"))
        {
            Box::new(BufReader::new(Chunked {
                stream,
                remaining: 0,
                ended: false,
            }))
        } else if let Some(length) = response
            .header("Content-Length")
            .and_then(|length| length.parse().ok())
        {
            Box::new(stream.take(length))
        } else {
            Box::new(stream)
        };
        Ok(response)
    }
}

fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

/// The body of a response with `Transfer-Encoding: chunked`.
struct Chunked {
    stream: BufReader<TcpStream>,
    /// The bytes of the current chunk that are not read yet.
    remaining: usize,
    ended: bool,
}

impl Read for Chunked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        if self.remaining == 0 {
            let size = read_line(&mut self.stream)?;
            let size = size.split(';').next().unwrap_or_default();
            self.remaining = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
            if self.remaining == 0 {
                self.ended = true;
                return Ok(0);
            }
        }
        let limit = buffer.len().min(self.remaining);
        let count = self.stream.read(&mut buffer[..limit])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.remaining -= count;
        if self.remaining == 0 {
            read_line(&mut self.stream)?;
        }
        Ok(count)
    }
}
