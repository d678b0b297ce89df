//! Plots as SVG: lines with marks on a light background.

use std::ops::Range;
use std::path::Path;

use plotters::chart::ChartContext;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;

use crate::document::thousands;

/// A plot. Its first axis is logarithmic.
#[derive(Debug)]
pub struct Plot<'a> {
    /// What it shows.
    pub title: &'a str,
    /// The name of the first axis, with its unit.
    pub x: &'a str,
    /// The name of the second axis, with its unit.
    pub y: &'a str,
    /// The greatest value of the second axis, which then begins with 0. Without it the axis is logarithmic.
    pub linear_to: Option<f64>,
    /// The names of the lines, and their points.
    pub lines: Vec<(&'a str, Vec<(f64, f64)>)>,
}

/// The width and height in pixels.
const SIZE: (u32, u32) = (760, 440);

/// Colours that those who can't tell red from green can tell apart, after Okabe and Ito.
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
];

impl Plot<'_> {
    /// Writes the plot into a file.
    ///
    /// # Panics
    /// If the file can't be written.
    pub fn write(&self, file: &Path) {
        let area = SVGBackend::new(file, SIZE).into_drawing_area();
        area.fill(&WHITE).unwrap();
        let xs = self.range(|point| point.0).log_scale();
        let mut chart = ChartBuilder::on(&area);
        chart.caption(self.title, ("sans-serif", 18)).margin(14).x_label_area_size(44).y_label_area_size(70);
        match self.linear_to {
            Some(greatest) => self.draw(chart.build_cartesian_2d(xs, 0.0..greatest).unwrap()),
            None => self.draw(chart.build_cartesian_2d(xs, self.range(|point| point.1).log_scale()).unwrap()),
        }
        area.present().unwrap();
    }

    /// The range of all points, with some room.
    fn range(&self, of: impl Fn(&(f64, f64)) -> f64) -> Range<f64> {
        let values = || self.lines.iter().flat_map(|(_, points)| points).map(&of);
        values().fold(f64::INFINITY, f64::min) / 1.3..values().fold(0.0, f64::max) * 1.3
    }

    fn draw<'a, X, Y>(&self, mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>)
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let text = |value: &f64| {
            if *value < 10.0 && value.fract() != 0.0 { format!("{value:.1}") } else { thousands(*value as u64) }
        };
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&text)
            .y_label_formatter(&text)
            .label_style(("sans-serif", 13))
            .bold_line_style(RGBColor(225, 225, 225))
            .light_line_style(WHITE)
            .draw()
            .unwrap();
        for (place, ((name, points), colour)) in self.lines.iter().zip(COLOURS).enumerate() {
            // Where lines lie on one another, the marks of each can be seen.
            let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(7 - place as u32);
            let key = move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2));
            chart.draw_series(line).unwrap().label(*name).legend(key);
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .label_font(("sans-serif", 13))
            .draw()
            .unwrap();
    }
}
