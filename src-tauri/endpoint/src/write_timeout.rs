//! A connection whose writes fail if the other end reads nothing for a long time.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// How long a write may wait for the other end to read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// A stream whose writes fail if the other end reads nothing for [`WRITE_TIMEOUT`]. No timer is
/// created unless a write has to wait.
pub(crate) struct WriteTimeout<S> {
    stream: S,
    /// The timer that runs while a write waits.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncWrite + Unpin> WriteTimeout<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            timer: None,
        }
    }

    fn poll_with_timeout<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(written) = write(Pin::new(&mut self.stream), cx) {
            self.timer = None;
            return Poll::Ready(written);
        }
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_with_timeout(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_with_timeout(cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with_timeout(cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with_timeout(cx, |stream, cx| stream.poll_shutdown(cx))
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::Instant,
    };

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_fails_if_the_other_end_does_not_read_but_not_if_it_reads_slowly() {
        let (near, mut far) = duplex(64);
        let mut near = WriteTimeout::new(near);
        let slow_reader = tokio::spawn(async move {
            let mut piece = [0; 64];
            for _ in 0..4 {
                sleep(WRITE_TIMEOUT - Duration::from_secs(1)).await;
                far.read_exact(&mut piece).await.expect("a piece");
            }
            far
        });
        near.write_all(&[b'x'; 64 * 5])
            .await
            .expect("slow reading is allowed");
        let _far = slow_reader.await.expect("the other end stays open");
        let start = Instant::now();
        let error = near.write_all(b"x").await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed(), WRITE_TIMEOUT);
    }
}
